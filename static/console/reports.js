// Draws the trend of a figure.  The table beside it says the same; without this script the table is what there is.
import { init } from "../vendor/echarts/charts.min.js";

// Colours are names of tokens: SVG takes them as they are, and they follow the theme by themselves.
const INK = "var(--text2)";
const LINE = "var(--line)";
const FILL = "var(--brand)";

const place = document.getElementById("chart");
const data = document.getElementById("chart-data");

function described(title, labels, said) {
  return `${title}. ${labels.map((label, at) => `${label}: ${said[at]}`).join("; ")}`;
}

function options({ labels, short, values, said, title, unit, line, most }) {
  const series = {
    name: title,
    data: values,
    itemStyle: { color: FILL },
    emphasis: { disabled: true },
    type: line ? "line" : "bar",
    barMaxWidth: 48,
  };
  if (line) {
    Object.assign(series, { symbolSize: 6, showSymbol: labels.length <= 60, lineStyle: { color: FILL, width: 2 } });
  }
  const label = { color: INK, fontFamily: "inherit" };
  return {
    animation: false,
    // The library's own description is English.
    aria: { enabled: true, decal: { show: true }, label: { description: described(title, labels, said) } },
    grid: { left: 8, right: 16, top: 32, bottom: 8, containLabel: true },
    // Rich text: what is HTML of the library's has styles inside, which the content policy refuses.
    tooltip: {
      trigger: "axis",
      renderMode: "richText",
      axisPointer: { type: line ? "line" : "none", lineStyle: { color: INK } },
      backgroundColor: "var(--surface)",
      borderColor: "var(--line2)",
      textStyle: label,
      formatter: ([point]) => `${labels[point.dataIndex]}\n${said[point.dataIndex]}`,
    },
    xAxis: {
      type: "category",
      data: short,
      axisLabel: label,
      axisLine: { lineStyle: { color: LINE } },
      axisTick: { show: false },
    },
    yAxis: {
      type: "value",
      name: unit,
      max: most ?? undefined,
      nameTextStyle: label,
      axisLabel: label,
      splitLine: { lineStyle: { color: LINE } },
    },
    series: [series],
  };
}

if (place && data) {
  const chart = init(place, null, { renderer: "svg" });
  chart.setOption(options(JSON.parse(data.textContent)));
  new ResizeObserver(() => chart.resize()).observe(place);
}
