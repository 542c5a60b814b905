/** The text of a file with line numbers. Only the lines on the screen are in the page. */
import {useVirtualizer} from '@tanstack/react-virtual';
import {useEffect, useMemo, useRef} from 'react';
import css from './deployments.module.css';
import {highlightedLines} from './highlight.ts';

/** The height of a line in the stylesheet. */
const LINE_PX = 20;

/** @param line is marked, and in view when the text opens; 0: none */
export function SourceText({path, text, line}: {path: string; text: string; line: number}) {
  const scroller = useRef<HTMLElement>(null);
  const lines = useMemo(() => highlightedLines(text), [text]);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => LINE_PX,
    overscan: 20,
  });
  useEffect(() => {
    if (line > 0) virtual.scrollToIndex(line - 1, {align: 'center'});
  }, [line, virtual]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a frame that scrolls must be reachable by keyboard
    <section ref={scroller} className={css.text} aria-label={path} tabIndex={0}>
      <div className={css.lines} style={{height: virtual.getTotalSize()}}>
        {virtual.getVirtualItems().map(({index, start}) => (
          <div
            key={index}
            className={css.line}
            style={{transform: `translateY(${start}px)`}}
            aria-current={index === line - 1 ? 'true' : undefined}
          >
            <span className={css.number}>{index + 1}</span>
            <code>
              {lines[index]!.map(({text: part, kind}, i) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a line have no other name
                <span key={i} className={kind === 'plain' ? undefined : css[kind]}>
                  {part}
                </span>
              ))}
            </code>
          </div>
        ))}
      </div>
    </section>
  );
}
