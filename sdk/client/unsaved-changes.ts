/** Asks before a page is left that has calls without an answer. */

type Page = {
  addEventListener?: (type: 'beforeunload', listener: (event: LeavingEvent) => void) => void;
  removeEventListener?: (type: 'beforeunload', listener: (event: LeavingEvent) => void) => void;
};
type LeavingEvent = {preventDefault(): void; returnValue: unknown};

/**
 * @param wanted undefined: where there is a page to leave
 * @returns ends it
 * @throws Error where it is wanted and there is no page
 */
export function warnOfUnsavedChanges(wanted: boolean | undefined, isUnsaved: () => boolean): () => void {
  const {window} = globalThis as {window?: Page};
  if (wanted === false || window?.addEventListener === undefined) {
    if (wanted) throw new Error('unsavedChangesWarning: there is no window.addEventListener here to warn with');
    return () => {};
  }
  const listener = (event: LeavingEvent) => {
    if (!isUnsaved()) return;
    event.preventDefault();
    event.returnValue = true; // What browsers of before 2023 want.
  };
  window.addEventListener('beforeunload', listener);
  return () => window.removeEventListener?.('beforeunload', listener);
}
