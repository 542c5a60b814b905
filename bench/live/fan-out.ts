/** One change sent to many sockets: how long until each has it, and how many deliveries a second go through. */
import {type CpuTimes, cpuLook, cpuUsEach} from '../measure/process-tree.ts';
import {median, quantile} from '../measure/statistics.ts';
import type {LoadSocket} from './socket.ts';
import type {LiveTarget} from './target.ts';

export type FanOut = {
  sockets: number;
  /** From the change being sent to a socket having its frame, over all sockets and changes. */
  p50Ms: number;
  p99Ms: number;
  deliveriesPerS: number;
  /** Microseconds of processor time that a change takes with all its deliveries; null: unknown. */
  cpuUs: CpuTimes | null;
};

/** Changes one after the other: the next is made when every socket has the one before. */
export async function measureFanOut(target: LiveTarget, sockets: number, seconds: number): Promise<FanOut> {
  const clients: LoadSocket[] = [];
  for (let i = 0; i < sockets; i++) clients.push(await target.subscriber());
  const delays: number[] = [];
  let missing = 0;
  let sentMs = 0;
  let arrived: () => void = () => undefined;
  for (const client of clients) {
    client.onText(() => {
      delays.push(performance.now() - sentMs);
      if (--missing === 0) arrived();
    });
  }
  const change = async (n: number): Promise<void> => {
    const all = new Promise<void>(resolve => {
      arrived = resolve;
    });
    missing = sockets;
    sentMs = performance.now();
    await Promise.all([target.change(n), all]);
  };
  let n = 0;
  while (n < 20) await change(n++); // warm
  delays.length = 0;
  const firstMeasured = n;
  const before = cpuLook(target.pid);
  const startedMs = performance.now();
  while (performance.now() - startedMs < seconds * 1000) await change(n++);
  const elapsedS = (performance.now() - startedMs) / 1000;
  const after = cpuLook(target.pid);
  for (const client of clients) client.close();
  return {
    sockets,
    p50Ms: median(delays),
    p99Ms: quantile(delays, 0.99),
    deliveriesPerS: delays.length / elapsedS,
    cpuUs: cpuUsEach(before, after, n - firstMeasured),
  };
}
