/**
 * The minimum version of the data that a client can show next, because it already has results from another source, such
 * as a page rendered by a server. The client sends it with the greeting or the next query set, and the server then
 * sends nothing older.
 */
import type {DataVersion} from '../../shared/protocol/function-socket/server-message.ts';
import type {Session} from './session.ts';

export class VersionFloor {
  #version: DataVersion | undefined;

  raise(version: DataVersion): void {
    if (!covers(this.#version, version)) this.#version = version;
  }

  /** The version to send in the greeting. @param seen the version shown on earlier sockets */
  greet(session: Session, seen: DataVersion | undefined): DataVersion | undefined {
    const version = this.#version;
    if (version === undefined || (seen !== undefined && seen.timeline !== version.timeline)) return seen;
    session.floor = {version, querySet: 1};
    return covers(seen, version) ? seen : version;
  }

  /** The version to send with the next query set, if any. @param querySet its number */
  tell(session: Session, seen: DataVersion | undefined, querySet: number): DataVersion | undefined {
    const version = this.#version;
    if (version === undefined || covers(seen, version) || covers(session.floor?.version, version)) return undefined;
    session.floor = {version, querySet};
    return version;
  }

  /** Whether live results can be older than this version. */
  isBehind(version: DataVersion, seen: DataVersion | undefined, session: Session | null): boolean {
    if (covers(seen, version)) return false;
    if (session === null || session.version.query_set === 0) return true;
    // The version is of a timeline that the server does not have, so its results are all there is.
    if (session.timeline !== version.timeline) return false;
    // After a restore of the database file, versions count from a lower number. So a result that the server sent after
    // it got the floor is as new as possible.
    const {floor} = session;
    return floor === undefined || !covers(floor.version, version) || session.version.query_set < floor.querySet;
  }
}

function covers(version: DataVersion | undefined, other: DataVersion): boolean {
  return version?.timeline === other.timeline && version.ts >= other.ts;
}
