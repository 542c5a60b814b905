/**
 * The scroll bar of a table in order of creation. It maps to creation times, from the oldest document to the newest, so
 * it reaches any document of a table of any length in one step.
 */
import {type KeyboardEvent, type PointerEvent, useRef, useState} from 'react';
import css from './data.module.css';
import type {Bounds} from './use-rows.ts';

const KEY_STEP = 0.02;
const PAGE_STEP = 0.1;
const TEXT = new Intl.DateTimeFormat(undefined, {dateStyle: 'medium', timeStyle: 'short'});

export function TimeBar({
  bounds,
  at,
  isDescending,
  onJump,
}: {
  bounds: NonNullable<Bounds>;
  /** Creation time of the first visible row. */
  at: number;
  isDescending: boolean;
  onJump(time: number): void;
}) {
  const bar = useRef<HTMLDivElement>(null);
  const [dragged, setDragged] = useState<number | null>(null);
  const span = Math.max(bounds.last - bounds.first, 1);
  const shareOf = (time: number) => {
    const share = Math.min(1, Math.max(0, (time - bounds.first) / span));
    return isDescending ? 1 - share : share;
  };
  const timeAt = (share: number) => bounds.first + (isDescending ? 1 - share : share) * span;
  const share = dragged ?? shareOf(at);

  const shareUnder = (event: PointerEvent) => {
    const {top, height} = bar.current!.getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientY - top) / height));
  };
  const jump = (to: number) => onJump(timeAt(Math.min(1, Math.max(0, to))));
  const keys: Record<string, number> = {
    ArrowDown: share + KEY_STEP,
    ArrowUp: share - KEY_STEP,
    PageDown: share + PAGE_STEP,
    PageUp: share - PAGE_STEP,
    Home: 0,
    End: 1,
  };
  const time = TEXT.format(timeAt(share));
  return (
    <div
      ref={bar}
      role="slider"
      tabIndex={0}
      className={css.timeBar}
      aria-label="Jump by creation time"
      aria-orientation="vertical"
      aria-valuemin={bounds.first}
      aria-valuemax={bounds.last}
      aria-valuenow={timeAt(share)}
      aria-valuetext={time}
      onPointerDown={event => {
        event.currentTarget.setPointerCapture(event.pointerId);
        setDragged(shareUnder(event));
      }}
      onPointerMove={event => dragged !== null && setDragged(shareUnder(event))}
      onPointerUp={() => {
        if (dragged !== null) jump(dragged);
        setDragged(null);
      }}
      onPointerCancel={() => setDragged(null)}
      onKeyDown={(event: KeyboardEvent) => {
        const to = keys[event.key];
        if (to === undefined) return;
        event.preventDefault();
        jump(to);
      }}
    >
      <div className={css.timeThumb} style={{top: `calc(${share} * (100% - 32px))`}} />
      {dragged === null ? null : (
        <div className={css.timeLabel} style={{top: `${share * 100}%`}}>
          {time}
        </div>
      )}
    </div>
  );
}
