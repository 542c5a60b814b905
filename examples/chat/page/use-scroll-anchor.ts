/**
 * Keeps what is read where it is. At the end, the end stays in sight as messages come; further up, the first message in sight stays at its
 * place whatever comes or goes above and below. (Browsers do some of it, each its own, and none at the very top.)
 */
import {type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState} from 'react';

const END_PX = 40;

/**
 * `at`: how far the first item in sight stood below the beginning of the history; null: the end was in sight. Places and not distances from the edge:
 * the reader may have scrolled since, which is reported with the next frame only. `scrolled`: how far it was scrolled then.
 */
type Anchor = {item: {key: string; at: number} | null; scrolled: number};
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
  const anchor = useRef<Anchor>({item: null, scrolled: 0});
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
    const before = anchor.current;
    const hasLeftTheEnd =
      before.item === null && box.scrollTop < before.scrolled && anchorOf(box, list.current!).item !== null;
    if (before.item !== null) {
      const element = list.current!.querySelector<HTMLElement>(`[data-key="${CSS.escape(before.item.key)}"]`);
      if (element !== null) box.scrollTop += placeOf(element, box) - before.item.at;
    } else if (!hasLeftTheEnd) {
      box.scrollTop = box.scrollHeight;
    }
    anchor.current = anchorOf(box, list.current!);
  }, []);

  // Before the browser paints other items.
  useLayoutEffect(restore, [items]);

  // Ends before the elements are gone, unlike an ordinary effect.
  useLayoutEffect(() => {
    const box = scroller.current!;
    const onScroll = () => {
      anchor.current = anchorOf(box, list.current!);
      setAtEnd(anchor.current.item === null);
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
    scroller.current!.scrollTop = scroller.current!.scrollHeight;
  }, []);
  return {scroller, list, isAtEnd, unseen: seenAt === -1 ? 0 : items.length - 1 - seenAt, goToEnd};
}

function keyOf({key, _id}: Item): string {
  return key ?? _id;
}

/** The first item that is in sight, found by halving: there may be thousands. */
function anchorOf(box: HTMLElement, list: HTMLElement): Anchor {
  const scrolled = box.scrollTop;
  if (box.scrollHeight - scrolled - box.clientHeight < END_PX) return {item: null, scrolled};
  const {children} = list;
  let low = 0;
  let high = children.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (placeOf(children[middle]!, box) + children[middle]!.clientHeight <= scrolled) low = middle + 1;
    else high = middle;
  }
  for (let index = low; index < children.length; index++) {
    const {key} = (children[index] as HTMLElement).dataset;
    if (key !== undefined) return {item: {key, at: placeOf(children[index]!, box)}, scrolled};
  }
  return {item: null, scrolled};
}

/** Below the beginning of what is scrolled in the box. */
function placeOf(element: Element, box: HTMLElement): number {
  return element.getBoundingClientRect().top - box.getBoundingClientRect().top + box.scrollTop;
}
