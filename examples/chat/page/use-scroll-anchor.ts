/**
 * Keeps what is read where it is. At the end, the end stays in sight as messages come; further up, the first message in sight stays at its
 * place whatever comes or goes above and below. (Browsers do some of it, each its own, and none at the very top.)
 */
import {type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState} from 'react';

const END_PX = 40;

type Anchor = {key: string; top: number} | 'end';
type Item = {_id: string; key?: string};

export function useScrollAnchor(items: Item[]): {
  scroller: RefObject<HTMLDivElement | null>;
  /** Its children with `data-key` are the items. */
  list: RefObject<HTMLOListElement | null>;
  isAtEnd: boolean;
  /** Items that came to the end since it went out of sight. */
  unseen: number;
  goToEnd(): void;
} {
  const scroller = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLOListElement>(null);
  const anchor = useRef<Anchor>('end');
  const [isAtEnd, setAtEnd] = useState(true);
  const [lastSeen, setLastSeen] = useState<string | null>(null);

  const newest = items.at(-1);
  const newestKey = newest === undefined ? null : keyOf(newest);
  useEffect(() => {
    if (isAtEnd) setLastSeen(newestKey);
  }, [isAtEnd, newestKey]);
  const seenAt = items.findLastIndex(item => keyOf(item) === lastSeen);

  const restore = useCallback(() => {
    const box = scroller.current!;
    if (anchor.current === 'end') {
      box.scrollTop = box.scrollHeight;
      return;
    }
    const {key, top} = anchor.current;
    const element = list.current!.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`);
    if (element !== null) box.scrollTop += topOf(element, box) - top;
    anchor.current = anchorOf(box, list.current!);
  }, []);

  // Before the browser paints other items.
  useLayoutEffect(restore, [items]);

  // Ends before the elements are gone, unlike an ordinary effect.
  useLayoutEffect(() => {
    const box = scroller.current!;
    const onScroll = () => {
      anchor.current = anchorOf(box, list.current!);
      setAtEnd(anchor.current === 'end');
    };
    box.addEventListener('scroll', onScroll, {passive: true});
    const sizes = new ResizeObserver(restore);
    sizes.observe(box);
    return () => {
      box.removeEventListener('scroll', onScroll);
      sizes.disconnect();
    };
  }, [restore]);

  const goToEnd = useCallback(() => {
    anchor.current = 'end';
    restore();
  }, [restore]);
  return {scroller, list, isAtEnd, unseen: seenAt === -1 ? 0 : items.length - 1 - seenAt, goToEnd};
}

function keyOf({key, _id}: Item): string {
  return key ?? _id;
}

/** The first item that is in sight, found by halving: there may be thousands. */
function anchorOf(box: HTMLElement, list: HTMLElement): Anchor {
  if (box.scrollHeight - box.scrollTop - box.clientHeight < END_PX) return 'end';
  const {children} = list;
  let low = 0;
  let high = children.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (topOf(children[middle]!, box) + children[middle]!.clientHeight <= 0) low = middle + 1;
    else high = middle;
  }
  for (let at = low; at < children.length; at++) {
    const {key} = (children[at] as HTMLElement).dataset;
    if (key !== undefined) return {key, top: topOf(children[at]!, box)};
  }
  return 'end';
}

/** Below the upper edge of the box. */
function topOf(element: Element, box: HTMLElement): number {
  return element.getBoundingClientRect().top - box.getBoundingClientRect().top;
}
