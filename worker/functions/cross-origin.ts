/** Operations that a page in a browser may call: their answers carry CORS headers, errors included. */
import {corsHeaders} from '../../shared/ipc/cors.ts';
import type {HeaderList, Operation, RequestMeta} from '../../shared/ipc/operations.ts';

const CROSS_ORIGIN: ReadonlySet<Operation> = new Set([
  'functions.query',
  'functions.paginated',
  'functions.mutation',
  'functions.action',
  'functions.schedule',
  'functions.unschedule',
]);

/** Headers that an answer to this request carries so that a page may read it. @param allowed null: any origin; asked only where it matters */
export function crossOriginHeaders(
  {op, o: origin}: RequestMeta,
  allowed: () => readonly string[] | null,
): HeaderList | null {
  return CROSS_ORIGIN.has(op) ? corsHeaders(origin, allowed()) : null;
}
