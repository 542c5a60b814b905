/** For links on which nothing comes of function sockets. */
import type {SocketEvents} from '../../worker/ipc/router-link.ts';

const ignored = () => undefined;

export const NO_SOCKETS: SocketEvents = {
  opened: ignored,
  message: ignored,
  credited: ignored,
  leaves: ignored,
  closed: ignored,
  released: ignored,
};
