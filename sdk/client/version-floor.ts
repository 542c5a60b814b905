/**
 * The oldest version of the data that a client may be shown next, where it has results that came another way: in a page that a server
 * rendered. The server of its socket learns of it with the greeting or with the next query set, and sends nothing older from there on.
 */
import type {DataVersion} from '../../shared/protocol/function-socket/server-message.ts';
import type {Session} from './session.ts';

export class VersionFloor {
  #version: DataVersion | undefined;

  raise(version: DataVersion): void {
    if (!covers(this.#version, version)) this.#version = version;
  }

  /** What the greeting says. @param seen over the sockets before */
  greet(session: Session, seen: DataVersion | undefined): DataVersion | undefined {
    const version = this.#version;
    if (version === undefined || (seen !== undefined && seen.timeline !== version.timeline)) return seen;
    session.floor = {version, querySet: 1};
    return covers(seen, version) ? seen : version;
  }

  /** What the next query set has to say. @param querySet its number */
  tell(session: Session, seen: DataVersion | undefined, querySet: number): DataVersion | undefined {
    const version = this.#version;
    if (version === undefined || covers(seen, version) || covers(session.floor?.version, version)) return undefined;
    session.floor = {version, querySet};
    return version;
  }

  /** Whether live results may be older than this version. */
  isBehind(version: DataVersion, seen: DataVersion | undefined, session: Session | null): boolean {
    if (covers(seen, version)) return false;
    if (session === null || session.version.query_set === 0) return true;
    // Of a history that the server does not have: what it shows is all there is.
    if (session.timeline !== version.timeline) return false;
    // A database file that was put back counts again from less: an answer to what the server was told is as new as can be.
    const {floor} = session;
    return floor === undefined || !covers(floor.version, version) || session.version.query_set < floor.querySet;
  }
}

function covers(version: DataVersion | undefined, other: DataVersion): boolean {
  return version?.timeline === other.timeline && version.ts >= other.ts;
}
