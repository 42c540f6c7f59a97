// Draws the trend of a figure.  The table beside it says the same; without this script the table is what there is.
import { init } from "../vendor/echarts/charts.min.js";

// Colours are names of tokens: SVG takes them as they are, and they follow the theme by themselves.
const INK = "var(--text2)";
const LINE = "var(--line)";
const ROW = 30; // height of a bar with its name, in pixels
const MARKED = 60; // points of a line that are marked each
const LETTERS = { narrow: 16, wide: 34 }; // of a name beside a bar

const place = document.getElementById("chart");
const data = document.getElementById("chart-data");

function described({ title, labels, series }) {
  const told = series.map(
    ({ name, said }) => `${name === title ? "" : `${name}. `}${labels.map((label, at) => `${label}: ${said[at]}`).join("; ")}`,
  );
  return `${title}. ${told.join(". ")}`;
}

// A point between two gaps has no line that shows it.
function alone(values, at) {
  return values[at] !== null && (values[at - 1] ?? null) === null && (values[at + 1] ?? null) === null;
}

function drawn({ name, values, token, mark, dashes }, line) {
  const color = `var(--${token})`;
  const common = { name, data: values, itemStyle: { color }, emphasis: { disabled: true } };
  if (!line) {
    return { ...common, type: "bar", barMaxWidth: 18 };
  }
  return {
    ...common,
    type: "line",
    symbol: `path://${mark}`,
    showSymbol: true,
    showAllSymbol: true,
    symbolSize: (_, { dataIndex }) => (values.length <= MARKED || alone(values, dataIndex) ? 7 : 0),
    lineStyle: { color, width: 2, type: dashes.length ? dashes : "solid" },
  };
}

function cut(text, letters) {
  return text.length <= letters ? text : `${text.slice(0, letters - 1).trimEnd()}…`;
}

function options(chart, wide) {
  const { labels, short, series, unit, line, most } = chart;
  // By its name: room for texts is measured where nothing is inherited.
  const label = { color: INK, fontFamily: getComputedStyle(place).fontFamily };
  const values = {
    type: "value",
    name: unit,
    nameLocation: "end",
    max: most ?? undefined,
    nameTextStyle: { ...label, align: line ? "left" : "right" },
    axisLabel: label,
    splitLine: { lineStyle: { color: LINE } },
  };
  const steps = {
    type: "category",
    data: short,
    inverse: !line,
    axisLabel: line
      ? label
      : { ...label, interval: 0, formatter: (text) => cut(text, wide ? LETTERS.wide : LETTERS.narrow) },
    axisLine: { lineStyle: { color: LINE } },
    axisTick: { show: false },
  };
  const told = (at) => series.map(({ name, said }) => (series.length > 1 ? `${name}: ${said[at]}` : said[at]));
  return {
    animation: false,
    // The library's own description is English.
    aria: { enabled: true, decal: { show: true }, label: { description: described(chart) } },
    grid: { left: 8, right: line ? 16 : 32, top: line ? 32 : 8, bottom: line ? 8 : 24, containLabel: true },
    // Rich text: what is HTML of the library's has styles inside, which the content policy refuses.
    tooltip: {
      trigger: "axis",
      renderMode: "richText",
      confine: true,
      axisPointer: { type: line ? "line" : "none", lineStyle: { color: INK } },
      backgroundColor: "var(--surface)",
      borderColor: "var(--line2)",
      textStyle: label,
      formatter: ([point]) => [labels[point.dataIndex], ...told(point.dataIndex)].join("\n"),
    },
    xAxis: line ? steps : values,
    yAxis: line ? values : steps,
    series: series.map((one) => drawn(one, line)),
  };
}

if (place && data) {
  const chart = JSON.parse(data.textContent);
  if (!chart.line) {
    place.style.blockSize = `${chart.labels.length * ROW + 48}px`;
  }
  const drawing = init(place, null, { renderer: "svg" });
  const draw = () => drawing.setOption(options(chart, place.clientWidth > 560), true);
  draw();
  new ResizeObserver(() => {
    drawing.resize();
    draw();
  }).observe(place);
}
