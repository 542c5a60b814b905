/** Limits of the dashboard's pages. Names contain the unit; comments say why that number, and what happens beyond it. */

/** Time without an answer after which a request is given up. The longest requests of the server end before. (ours) */
export const REQUEST_MS_MAX = 60_000;
/** Answers that pages keep after they are left, so that going back shows something at once. (ours) */
export const CACHE_MS_MAX = 5 * 60_000;
/** Answers younger than this are not requested again when a page opens. (ours) */
export const FRESH_MS = 2_000;
/** How often lists that change by themselves are requested while their page is visible. (ours) */
export const REFRESH_MS = 5_000;
/** Requests for one page of a filtered journal until something is found. Beyond: a button goes on. (ours) */
export const JOURNAL_SEARCHES = 50;
/** How often counts of a long journal are requested until they are complete. (ours) */
export const COUNTS_RETRY_MS = 700;
/** Pause between attempts while the server cannot be reached. (ours) */
export const RECONNECT_MS = 2_000;
/** Toasts on screen. The oldest one leaves first. (ours) */
export const TOASTS_MAX = 4;
/** How long a toast stays; one with an action stays longer, so that there is time to reach it. (ours) */
export const TOAST_MS = 5_000;
export const TOAST_WITH_ACTION_MS = 12_000;
/** Executions that the page of logs requests when it opens, and for each step back in time. (ours) */
export const LOG_HISTORY_ENTRIES = 200;
/** Executions that the page of logs holds. Beyond it those leave that the reader is farthest from. (ours) */
export const LOG_ENTRIES_MAX = 2_000;
/** How often new executions are added to the page: a busy tenant does not render it for each. (ours) */
export const LOG_SHOW_MS = 250;
/** Pause in typing after which the page of logs requests what matches. (ours) */
export const LOG_TYPING_MS = 250;
/** Executions that the tree of one request shows, the newest ones. The server sends no more. (ours) */
export const REQUEST_ENTRIES_MAX = 1_000;
/** Jobs of a request, itself included, whose journal records are searched and shown. (ours) */
export const REQUEST_JOBS_SEARCHED_MAX = 5;
/** Journal records that the page of a request shows. (ours) */
export const REQUEST_RECORDS_MAX = 50;
/** Names that the palette lists. Typing more finds the others. (ours) */
export const PALETTE_ROWS_MAX = 50;
/** How often charts are requested while their page is visible: routers and workers report this often. (ours) */
export const FIGURES_REFRESH_MS = 15_000;
/** Functions that Overview lists. The Functions page and svc figures have the others. (ours) */
export const FUNCTIONS_SHOWN = 10;
/** Time without an answer after which a run of a function is given up: the longest action ends before. (ours) */
export const FUNCTION_RUN_MS_MAX = 11 * 60_000;
/** Identities that this browser keeps for a tenant. A new one replaces the last of them. (ours) */
export const IDENTITIES_MAX = 50;
/** Characters of an identity that is typed. Beyond: it is refused. (ours) */
export const IDENTITY_CHARS_MAX = 10_000;
/** Runs of functions that a tab keeps for a tenant. The oldest one leaves first. (ours) */
export const RUNS_MAX = 50;
/** Characters of those runs. Beyond: the older half leaves. Browsers allow 5 million for an origin. (ours) */
export const RUNS_CHARS_MAX = 500_000;
/** A longer result is shown, but not kept among the past runs. (ours) */
export const RUN_RESULT_CHARS_MAX = 50_000;
/** Pause in typing after which a typed id is looked up. (ours) */
export const TYPING_PAUSE_MS = 300;
/** Documents that the choice of an id offers: the newest. (ours) */
export const ID_CHOICES_MAX = 100;
/** Characters of a source file up to which its text has colours. Scanning more would hold the page. (ours) */
export const HIGHLIGHT_CHARS_MAX = 300_000;
/** Changed lines that the comparison of two deployments shows of a file. svc deployments diff prints all. (ours) */
export const DIFF_LINES_MAX = 2_000;
/** Journal records whose writes are listed for a run. The Journal page has the others. (ours) */
export const WRITES_RECORDS_MAX = 100;
/** How often the schema page requests the progress of indexes. (ours) */
export const INDEX_BUILD_REFRESH_MS = 1_000;
/** How long Overview warns of a worker that ended unexpectedly. (ours) */
export const CRASH_WARNING_MS = 60 * 60_000;
/** Time without an answer after which a restore is given up. The server goes on with it. (ours) */
export const RESTORE_MS_MAX = 15 * 60_000;
