/** Executions, the newest first. Only those on the screen are in the page; the ones before are read by scrolling. */
import {useVirtualizer} from '@tanstack/react-virtual';
import {useEffect, useLayoutEffect, useRef, useState} from 'react';
import {plural} from '../../parts/values.tsx';
import {LogItem} from './log-item.tsx';
import {keyOf, type LogEntry} from './log-window.ts';
import css from './logs.module.css';

const ROW_PX = 33;
const OVERSCAN_ROWS = 12;
/** Distance from the end at which older entries are requested. */
const OLDER_AT_ROWS = 20;

export function LogList({
  tenant,
  entries,
  isReadingOlder,
  hasOlder,
  isAway,
  onScrolled,
  onOlder,
  onPath,
}: {
  tenant: string;
  entries: readonly LogEntry[];
  isReadingOlder: boolean;
  hasOlder: boolean;
  /** The newest entry is not in view. */
  isAway: boolean;
  onScrolled(isAway: boolean): void;
  onOlder(): void;
  onPath(path: string): void;
}) {
  const scroller = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const virtual = useVirtualizer({
    count: entries.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    getItemKey: index => keyOf(entries[index]!),
    overscan: OVERSCAN_ROWS,
  });
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  const isNearEnd = hasOlder && !isReadingOlder && last >= entries.length - OLDER_AT_ROWS;
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each end that comes near
  useEffect(() => {
    const {scrollTop, scrollHeight, clientHeight} = scroller.current!;
    if (isNearEnd && (scrollTop > 0 || scrollHeight <= clientHeight)) onOlder();
  }, [isNearEnd, entries.length]);

  const first = entries[0] === undefined ? '' : keyOf(entries[0]);
  const anchor = useRef('');
  // biome-ignore lint/correctness/useExhaustiveDependencies: when entries have come or gone at the beginning
  useLayoutEffect(() => {
    const at = isAway ? entries.findIndex(entry => keyOf(entry) === anchor.current) : -1;
    if (at !== -1) virtual.scrollToIndex(at, {align: 'start'});
  }, [first]);
  useLayoutEffect(() => {
    if (!isAway) scroller.current!.scrollTop = 0;
  }, [isAway]);

  const toggle = (key: string) =>
    setOpen(before => {
      const after = new Set(before);
      if (!after.delete(key)) after.add(key);
      return after;
    });
  const onScroll = () => {
    const {scrollTop} = scroller.current!;
    anchor.current = String(virtual.getVirtualItems().find(({end}) => end > scrollTop)?.key ?? '');
    onScrolled(scrollTop > ROW_PX / 2);
  };
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a frame that scrolls must be reachable by keyboard
    <section ref={scroller} className={css.list} aria-label="Executions" tabIndex={0} onScroll={onScroll}>
      <ol
        className={css.items}
        style={{height: virtual.getTotalSize()}}
        aria-label={plural(entries.length, 'execution')}
      >
        {items.map(({index, key, start}) => (
          <li
            key={key}
            ref={virtual.measureElement}
            data-index={index}
            className={css.item}
            style={{transform: `translateY(${start}px)`}}
          >
            <LogItem
              tenant={tenant}
              entry={entries[index]!}
              isOpen={open.has(String(key))}
              onToggle={() => toggle(String(key))}
              onPath={onPath}
            />
          </li>
        ))}
      </ol>
      {hasOlder || isReadingOlder ? null : <p className={css.end}>No older executions</p>}
    </section>
  );
}
