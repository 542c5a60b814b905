/** Asks for confirmation before the user leaves a page that has calls without a response. */

type Page = {
  addEventListener?: (type: 'beforeunload', listener: (event: LeavingEvent) => void) => void;
  removeEventListener?: (type: 'beforeunload', listener: (event: LeavingEvent) => void) => void;
};
type LeavingEvent = {preventDefault(): void; returnValue: unknown};

/**
 * @param wanted undefined: true if there is a page to leave, else false
 * @returns a function that stops asking
 * @throws Error when it is wanted and there is no page
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
    event.returnValue = true; // Required by browsers released before 2023.
  };
  window.addEventListener('beforeunload', listener);
  return () => window.removeEventListener?.('beforeunload', listener);
}
