/** The argument and the result of `paginate`, and validators for both. */
import {asObjectValidator, v} from '../values/v.ts';
import type {GenericRequiredValidator} from '../values/validators.ts';

/** A position in a query's results. Opaque, and valid for that query only. */
export type Cursor = string;

export interface PaginationOptions {
  /** The number of documents wanted. */
  numItems: number;
  /** Where the page starts. Null: at the first document. */
  cursor: Cursor | null;
  /** Where the page ends, whatever the number of documents before it. Default: after `numItems`. */
  endCursor?: Cursor | null;
  id?: number;
  /** Limits for the documents read, as a number and in bytes. */
  maximumRowsRead?: number;
  maximumBytesRead?: number;
}

export interface PaginationResult<T> {
  page: T[];
  /** There are no more documents after this page. */
  isDone: boolean;
  continueCursor: Cursor;
  /** The middle of a page that was too large. */
  splitCursor?: Cursor | null;
  pageStatus?: 'SplitRecommended' | 'SplitRequired' | null;
}

export const paginationOptsValidator = /* @__PURE__ */ optionsValidator();

/** A function call, so that bundlers can remove it: pages import their references from here and need no validators. */
function optionsValidator() {
  return v.object({
    numItems: v.number(),
    cursor: v.union(v.string(), v.null()),
    endCursor: v.optional(v.union(v.string(), v.null())),
    id: v.optional(v.number()),
    maximumRowsRead: v.optional(v.number()),
    maximumBytesRead: v.optional(v.number()),
  });
}

/** For a function's `returns`. @param item validator of one item of a page */
export function paginationResultValidator<T extends GenericRequiredValidator>(item: T): PaginationResultValidator<T> {
  return asObjectValidator(resultFields(item));
}

function resultFields<T extends GenericRequiredValidator>(item: T) {
  return {
    page: v.array(item),
    isDone: v.boolean(),
    continueCursor: v.string(),
    splitCursor: v.optional(v.union(v.string(), v.null())),
    pageStatus: v.optional(v.union(v.literal('SplitRecommended'), v.literal('SplitRequired'), v.null())),
  };
}

type PaginationResultValidator<T extends GenericRequiredValidator> = ReturnType<
  typeof asObjectValidator<ReturnType<typeof resultFields<T>>>
>;
