/** Labels an error with the member of a request's list that caused it. */
import {ServiceError} from './errors.ts';

/**
 * Runs the work for `list[position]`. Its errors name that member, in the message and as `member` of the detail. The
 * service's own failures stay unchanged.
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
