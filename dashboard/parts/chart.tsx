/** Lines over time. The library that draws them is a chunk of its own, loaded with the first chart. */
import {type ReactNode, useEffect, useRef, useState, useSyncExternalStore} from 'react';
import type uPlot from 'uplot';
import css from './chart.module.css';

export type ChartLine = {
  readonly name: string;
  readonly colour: 'accent' | 'bad' | 'warn';
  /** As many as times; null: no value at that time. */
  readonly values: readonly (number | null)[];
};

type ChartProps = {
  readonly title: string;
  /** Epoch milliseconds, ascending. */
  readonly times: readonly number[];
  readonly lines: readonly ChartLine[];
  readonly textOf: (value: number) => string;
  /** Bars on top of each other, for counts; otherwise lines. */
  readonly isBars?: boolean;
  /** Dragging over the chart selects values, from the first to the last. */
  readonly onRange?: (first: number, last: number) => void;
};

const HEIGHT_PX = 140;
/** A shorter drag is a click. */
const SELECTED_PX_MIN = 4;

export function Charts({children}: {children: ReactNode}) {
  return <div className={css.charts}>{children}</div>;
}

export function Chart({title, times, lines, textOf, isBars = false, onRange}: ChartProps) {
  /** The time under the pointer; null: the newest. */
  const [at, setAt] = useState<number | null>(null);
  // A chart is drawn with the colours of one theme, so that of another replaces it.
  const isDark = useSyncExternalStore(onTheme, () => DARK.matches);
  const newest = times.findLastIndex((_, i) => lines.some(({values}) => values[i] != null));
  const shown = at !== null && at < times.length ? at : newest;
  const textAt = (value: number | null | undefined) => (value == null ? '–' : textOf(value));
  const summary = lines.map(({name, values}) => {
    const known = values.filter(value => value !== null);
    return known.length === 0
      ? `${name}: none`
      : `${name}: newest ${textAt(values[newest])}, most ${textOf(max(known))}`;
  });
  return (
    <figure className={css.chart}>
      <figcaption className={css.title}>
        <span>
          {title}
          {at === null ? null : ` at ${clockOf(times).format(times[shown])}`}
        </span>
        <ul className={css.legend}>
          {lines.map(({name, colour, values}) => (
            <li key={name} className={css[colour]}>
              <span>{`${name} ${textAt(values[shown])}`}</span>
            </li>
          ))}
        </ul>
      </figcaption>
      <Plot
        key={String(isDark)}
        title={`${title}. ${summary.join('; ')}`}
        times={times}
        lines={lines}
        textOf={textOf}
        isBars={isBars}
        {...(onRange === undefined ? {} : {onRange})}
        onAt={setAt}
      />
    </figure>
  );
}

const CLOCK = new Intl.DateTimeFormat(undefined, {timeStyle: 'short'});
const CLOCK_WITH_SECONDS = new Intl.DateTimeFormat(undefined, {timeStyle: 'medium'});
const DAYS = new Intl.DateTimeFormat(undefined, {month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit'});

/** Times of a chart in the length that tells them apart. */
function clockOf(times: readonly number[]): Intl.DateTimeFormat {
  const minutes = ((times.at(-1) ?? 0) - (times[0] ?? 0)) / 60_000;
  return minutes < 10 ? CLOCK_WITH_SECONDS : minutes <= 24 * 60 ? CLOCK : DAYS;
}

const DARK = matchMedia('(prefers-color-scheme: dark)');

function onTheme(changed: () => void): () => void {
  DARK.addEventListener('change', changed);
  return () => DARK.removeEventListener('change', changed);
}

function Plot({
  title,
  times,
  lines,
  textOf,
  isBars = false,
  onRange,
  onAt,
}: ChartProps & {onAt: (at: number | null) => void}) {
  const select = useRef(onRange);
  select.current = onRange;
  const mayDrag = onRange !== undefined;
  const place = useRef<HTMLDivElement>(null);
  const colours = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const target = place.current;
    if (target === null || colours.current === null) return;
    const [muted, line, ...ofLines] = [...colours.current.children].map(child => getComputedStyle(child).color);
    let plot: uPlot | null = null;
    let isOver = false;
    const resized = new ResizeObserver(() => plot?.setSize({width: target.clientWidth, height: HEIGHT_PX}));
    void import('uplot').then(({default: Plotter}) => {
      if (isOver) return;
      const axis = {stroke: muted!, grid: {stroke: line!, width: 1}, ticks: {show: false}, font: '11px system-ui'};
      const clock = clockOf(times);
      const bars = {paths: Plotter.paths.bars!({size: [0.8, 24], align: 1}), points: {show: false}};
      plot = new Plotter(
        {
          width: target.clientWidth,
          height: HEIGHT_PX,
          legend: {show: false},
          cursor: {y: false, drag: {x: mayDrag, y: false, setScale: false}},
          scales: {
            // A bar is drawn from its time on, so the last one needs its width.
            x: {range: (_, first, last) => [first, isBars ? last + stepOf(times) : last]},
            y: {range: (_, __, most) => [0, most > 0 ? most * 1.1 : 1]},
          },
          axes: [
            {...axis, values: (_, seconds) => seconds.map(second => clock.format(second * 1_000)), space: 96, size: 28},
            {...axis, values: (_, values) => values.map(textOf), size: 64, space: 32},
          ],
          series: [
            {},
            ...lines.map(({name}, i) => ({
              label: name,
              stroke: ofLines[i]!,
              ...(isBars
                ? {...bars, fill: ofLines[i]!, width: 0}
                : {width: 1.5, points: {show: true, size: 4, filter: lonely}}),
            })),
          ],
          hooks: {
            setCursor: [({cursor}) => onAt(cursor.idx ?? null)],
            setSelect: [selected],
          },
        },
        [times.map(time => time / 1_000), ...lines.map(({values}) => [...values])],
        target,
      );
      resized.observe(target);
    });
    function selected({select: {left, width}, posToIdx}: uPlot): void {
      if (width < SELECTED_PX_MIN) return;
      const last = times.length - 1;
      select.current?.(Math.max(0, posToIdx(left)), Math.min(last, posToIdx(left + width)));
    }
    return () => {
      isOver = true;
      resized.disconnect();
      plot?.destroy();
    };
  }, [times, lines, textOf, isBars, mayDrag, onAt]);
  return (
    <>
      <div hidden ref={colours}>
        <i className={css.plot} />
        <i className={css.line} />
        {lines.map(({name, colour}) => (
          <i key={name} className={css[colour]} />
        ))}
      </div>
      <div ref={place} className={css.plot} role="img" aria-label={title} />
    </>
  );
}

/** Seconds. */
function stepOf([first = 0, second = first]: readonly number[]): number {
  return (second - first) / 1_000;
}

/** A value between two gaps has no line, so it is a point. */
function lonely({data}: uPlot, series: number): number[] {
  const values = data[series]!;
  return [...values.keys()].filter(i => values[i] != null && values[i - 1] == null && values[i + 1] == null);
}

function max(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(most, value), 0);
}
