/** Limits of the data browser. They bound what one page holds in memory and sends in one request. */

/** Rows of the table that a page holds in memory. Beyond: those farthest from the visible ones are dropped. */
export const ROWS_HELD_MAX = 600;
/** Rows that one request for more rows returns. */
export const ROWS_PER_REQUEST = 150;
/** Rows of the visible window that are a live query: those on the screen, and some above and below. */
export const LIVE_ROWS_MAX = 120;
/** Nested expressions in a typed filter, below the one level of its own lists. (docs/http-api.md, Nesting) */
export const FILTER_OR_LEVELS = 2;
/** Documents that are read to find the fields of a table without a schema. */
export const SAMPLED_DOCUMENTS = 100;
/** Columns shown of a table. Beyond: the other fields are in the document's own view. */
export const COLUMNS_SHOWN_MAX = 24;
/** Lines and characters of one request of an import. */
export const IMPORT_LINES_PER_REQUEST = 2_000;
export const IMPORT_CHARS_PER_REQUEST = 1_000_000;
/** Rows of a file that the preview of an import shows and checks. */
export const PREVIEW_ROWS = 50;
/** A row of an imported file. Beyond: the import stops with an error. */
export const IMPORT_ROW_CHARS_MAX = 4 * 1024 * 1024;
/** Documents that can be selected one by one. Beyond: select all that match instead. */
export const SELECTED_MAX = 500;
/** Rows between the visible ones and the end of those in memory at which more are requested. */
export const ROWS_AHEAD = 50;
/** Time without scrolling after which the live query moves to the visible rows. */
export const LIVE_MOVE_MS = 120;
/** How long a row is marked as new, changed or gone. */
export const MARK_MS = 4_000;
/** Time between polls of a bulk change. */
export const TASK_POLL_MS = 400;
/** Versions of a document that one step back shows, and requests for them: each looks through a part of the journal. */
export const HISTORY_PAGE_RECORDS = 25;
export const HISTORY_PAGES = 8;
