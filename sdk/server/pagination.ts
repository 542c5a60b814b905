/** Pages of a query: what `paginate` takes and returns, and validators for both. */
import {asObjectValidator, v} from '../values/v.ts';
import type {GenericRequiredValidator} from '../values/validators.ts';

/** A place in a query's results. Opaque, and good for that query only. */
export type Cursor = string;

export interface PaginationOptions {
  /** Documents wanted. */
  numItems: number;
  /** Null: from the start. */
  cursor: Cursor | null;
  /** Everything up to here, however many documents that is. */
  endCursor?: Cursor | null;
  id?: number;
  /** Documents looked at, and their bytes, at most. */
  maximumRowsRead?: number;
  maximumBytesRead?: number;
}

export interface PaginationResult<T> {
  page: T[];
  /** The scan ran off the end. */
  isDone: boolean;
  continueCursor: Cursor;
  /** The middle of a page that was too large. */
  splitCursor?: Cursor | null;
  pageStatus?: 'SplitRecommended' | 'SplitRequired' | null;
}

export const paginationOptsValidator = /* @__PURE__ */ optionsValidator();

/** A call, so that bundlers can leave it out: pages import their references from here, and need no validators. */
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

/** For `returns`. @param item validator of a page's element */
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
