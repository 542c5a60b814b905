/** Errors of one of several things that a request asks for: each says which one it is about. */
import {ServiceError} from './errors.ts';

/**
 * Runs what concerns `list[position]`. Its error names it, in the message and as `member` of the detail. What is the service's own
 * fault is left as it is.
 */
export function positioned<T>(list: string, position: number, member: string, run: () => T): T {
  try {
    return run();
  } catch (caught) {
    if (!(caught instanceof ServiceError) || caught.isOurs) throw caught;
    const {code, detail} = caught;
    const name = `${list}[${position}]`;
    const message = caught.message.startsWith(name) ? caught.message : `${name}: ${caught.message}`;
    throw new ServiceError(code, message, {...detail, [member]: position});
  }
}
