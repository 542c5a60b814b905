import {describe, expect, test} from 'vitest';
import {quota} from '../../cli/cores.ts';

/** What the groups say of themselves, by path. */
const files =
  (of: Record<string, string>) =>
  (path: string): string =>
    of[path] ?? '';

describe('cores that a cgroup allows', () => {
  test.each<[string, string, Record<string, string>, number]>([
    ['its own quota', '0::/a/b\n', {'/sys/fs/cgroup/a/b/cpu.max': '250000 100000\n'}, 2.5],
    ['that of a group around it', '0::/a/b\n', {'/sys/fs/cgroup/a/cpu.max': '100000 100000\n'}, 1],
    [
      'the least of them',
      '0::/a\n',
      {'/sys/fs/cgroup/cpu.max': '400000 100000\n', '/sys/fs/cgroup/a/cpu.max': '800000 100000\n'},
      4,
    ],
    ['all of them', '0::/a\n', {'/sys/fs/cgroup/a/cpu.max': 'max 100000\n'}, Number.POSITIVE_INFINITY],
    ['in a container, the quota of its root', '0::/\n', {'/sys/fs/cgroup/cpu.max': '50000 100000\n'}, 0.5],
    ['where nothing is said, all of them', '', {}, Number.POSITIVE_INFINITY],
  ])('%s', (_, membership, of, expected) => {
    expect(quota(membership, files(of))).toBe(expected);
  });
});
