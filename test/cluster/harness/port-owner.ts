/** Whether one of some processes has the socket of a connection on loopback: Linux lists both. */
import {readdirSync, readFileSync, readlinkSync} from 'node:fs';

const ADDRESS = '0100007F';

/** @param port of its own end */
export function hasPort(pids: readonly number[], port: number): boolean {
  const local = `${ADDRESS}:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const inodes = ['tcp', 'tcp6'].flatMap(file =>
    readFileSync(`/proc/net/${file}`, 'utf8')
      .split('\n')
      .map(line => line.trim().split(/\s+/))
      .filter(([, own]) => own?.endsWith(local) === true)
      .map(fields => `socket:[${fields[9]}]`),
  );
  return pids.some(pid => socketsOf(pid).some(socket => inodes.includes(socket)));
}

function socketsOf(pid: number): string[] {
  const directory = `/proc/${pid}/fd`;
  try {
    return readdirSync(directory).flatMap(name => {
      try {
        return [readlinkSync(`${directory}/${name}`)];
      } catch {
        return []; // closed meanwhile
      }
    });
  } catch {
    return []; // ended meanwhile
  }
}
