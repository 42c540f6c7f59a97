// Draws the trend of a KPI with ECharts.  The table below the chart has the same values, and is there without a script.
// The data come from Chart.data (apps/console/kit/svg_charts.py), which also draws the chart of the PDF.
import { init } from "../vendor/echarts/charts.min.js";

// Colors are custom properties of the theme: SVG resolves them, so that a chart follows a change of theme by itself.
const INK = "var(--text2)";
const LINE = "var(--line)";
const ROW = 30; // height of a bar with its name, in pixels
const MAX_MARKS = 60; // a line with more points marks only those between two gaps
const MAX_LETTERS = { narrow: 16, wide: 34 }; // of the label of a bar

const container = document.getElementById("chart");
const data = document.getElementById("chart-data");

function description({ title, labels, series }) {
  const texts = series.map(
    ({ name, texts }) =>
      `${name === title ? "" : `${name}. `}${labels.map((label, index) => `${label}: ${texts[index]}`).join("; ")}`,
  );
  return `${title}. ${texts.join(". ")}`;
}

// A point between two gaps, which no line shows.
function isIsolated(values, index) {
  return values[index] !== null && (values[index - 1] ?? null) === null && (values[index + 1] ?? null) === null;
}

function seriesOptions({ name, values, token, mark, dashes }, isLine) {
  const color = `var(--${token})`;
  const common = { name, data: values, itemStyle: { color }, emphasis: { disabled: true } };
  if (!isLine) {
    return { ...common, type: "bar", barMaxWidth: 18 };
  }
  return {
    ...common,
    type: "line",
    symbol: `path://${mark}`,
    showSymbol: true,
    showAllSymbol: true,
    symbolSize: (_, { dataIndex }) => (values.length <= MAX_MARKS || isIsolated(values, dataIndex) ? 7 : 0),
    lineStyle: { color, width: 2, type: dashes.length ? dashes : "solid" },
  };
}

function shortened(text, letters) {
  return text.length <= letters ? text : `${text.slice(0, letters - 1).trimEnd()}…`;
}

function options(chart, wide) {
  const { labels, shortLabels, series, unit, isLine, axisEnd } = chart;
  // The name of the font: ECharts measures texts outside the page, where no font is inherited.
  const label = { color: INK, fontFamily: getComputedStyle(container).fontFamily };
  const values = {
    type: "value",
    name: unit,
    nameLocation: "end",
    max: axisEnd ?? undefined,
    nameTextStyle: { ...label, align: isLine ? "left" : "right" },
    axisLabel: label,
    splitLine: { lineStyle: { color: LINE } },
  };
  const buckets = {
    type: "category",
    data: shortLabels,
    inverse: !isLine,
    axisLabel: isLine
      ? label
      : { ...label, interval: 0, formatter: (text) => shortened(text, wide ? MAX_LETTERS.wide : MAX_LETTERS.narrow) },
    axisLine: { lineStyle: { color: LINE } },
    axisTick: { show: false },
  };
  const lines = (index) =>
    series.map(({ name, texts }) => (series.length > 1 ? `${name}: ${texts[index]}` : texts[index]));
  return {
    animation: false,
    // The description that ECharts generates would be in English.
    aria: { enabled: true, decal: { show: true }, label: { description: description(chart) } },
    grid: { left: 8, right: isLine ? 16 : 32, top: isLine ? 32 : 8, bottom: isLine ? 8 : 24, containLabel: true },
    // Rich text: HTML tooltips have style attributes, which the content policy refuses.
    tooltip: {
      trigger: "axis",
      renderMode: "richText",
      confine: true,
      axisPointer: { type: isLine ? "line" : "none", lineStyle: { color: INK } },
      backgroundColor: "var(--surface)",
      borderColor: "var(--line2)",
      textStyle: label,
      formatter: ([point]) => [labels[point.dataIndex], ...lines(point.dataIndex)].join("\n"),
    },
    xAxis: isLine ? buckets : values,
    yAxis: isLine ? values : buckets,
    series: series.map((item) => seriesOptions(item, isLine)),
  };
}

if (container && data) {
  const chart = JSON.parse(data.textContent);
  if (!chart.isLine) {
    container.style.blockSize = `${chart.labels.length * ROW + 48}px`;
  }
  const instance = init(container, null, { renderer: "svg" });
  const draw = () => {
    instance.setOption(options(chart, container.clientWidth > 560), true);
    const { clientWidth, clientHeight } = container;
    container.querySelector("svg")?.setAttribute("viewBox", `0 0 ${clientWidth} ${clientHeight}`); // paper is narrower
  };
  draw();
  new ResizeObserver(() => {
    instance.resize();
    draw();
  }).observe(container);
}
