/** The files of deploy/ as far as they can be checked without what runs them: the names, settings and rights in them. */
import {existsSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {Command} from 'commander';
import {describe, expect, test} from 'vitest';
import {HOST_FILES, NATS_FILES} from '../../cli/cluster/host-files.ts';
import {registerInit} from '../../cli/cluster/init.ts';
import {addStartOptions} from '../../cli/config.ts';
import {DRAIN_MS_DEFAULT} from '../../cluster/limits.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const image = read('deploy/Containerfile');
const compose = read('deploy/compose.yaml');
const unit = read('deploy/svc.service');
const page = read('docs/operating.md');
const natsUnit = read('deploy/cluster/svc-nats.service');
const clusterUnit = read('deploy/cluster/svc-cluster.conf');
const clusterCompose = read('deploy/cluster/compose.yaml');

const options = addStartOptions(new Command()).options;
const variables = options.map(({envVar}) => envVar);
const capabilities = /^CapabilityBoundingSet=(.*)$/m
  .exec(unit)![1]!
  .split(' ')
  .map(name => name.slice('CAP_'.length));

test('every setting in them is one of svc start', () => {
  const set = [
    ...image.matchAll(/\b(SVC_[A-Z_]+)=/g),
    ...[...compose.matchAll(/^ {6}(SVC_(?!DOMAIN)[A-Z_]+): /gm), ...clusterCompose.matchAll(/^ {6}(SVC_[A-Z_]+): /gm)],
    ...unit.matchAll(/^Environment=.*?\b(SVC_[A-Z_]+)=/gm),
  ].map(match => match[1]);
  expect(set.length).toBeGreaterThan(6);
  expect(set.filter(name => !variables.includes(name))).toEqual([]);
  const flags = unit.match(/ --[a-z-]+/g) ?? [];
  expect(flags.filter(flag => !options.some(({long}) => long === flag.trim()))).toEqual([]);
});

test('what the image starts is built, as root, and is asked for its health where it listens', () => {
  const {bin} = JSON.parse(read('package.json')) as {bin: {svc: string}};
  expect(image).toContain(`CMD ["node", "${bin.svc}", "start"]`);
  expect(image).not.toMatch(/^USER /m);
  expect(image).toMatch(/^HEALTHCHECK /m);
  expect(image).toContain('/health`');
  const port = String(options.find(({long}) => long === '--port')!.defaultValue);
  expect(image).toContain(`EXPOSE ${port}`);
  expect(image).toContain(`process.env.SVC_PORT ?? ${port}`);
  expect(read('deploy/Caddyfile')).toContain(`svc:${port}`);
});

test('compose names files that exist', () => {
  const named = [
    /dockerfile: (\S+)/.exec(compose)![1]!,
    ...[...compose.matchAll(/"\.\/(\w+):/g)].map(([, name]) => `deploy/${name}`),
  ];
  expect(named).toEqual(['deploy/Containerfile', 'deploy/Caddyfile']);
  expect(named.filter(path => !existsSync(join(root, path)))).toEqual([]);
});

test('a container gets the capabilities of the unit, but for low ports, in compose and on the page', () => {
  const wanted = capabilities.filter(name => name !== 'NET_BIND_SERVICE');
  expect(/cap_add: \[(.*)\]/.exec(compose)![1]!.split(', ')).toEqual(wanted);
  expect([...page.matchAll(/--cap-add ([A-Z_]+)/g)].map(match => match[1])).toEqual(wanted);
  expect(compose).toContain('cap_drop: [ALL]');
});

describe('the files of a host of a cluster', () => {
  const init = new Command();
  registerInit(init);
  const defaults = init.commands[0]!.opts<{filesAt: string; storeAt: string}>();

  test('are where svc cluster init says by default', () => {
    const configuration = `${defaults.filesAt}/${NATS_FILES.configuration}`;
    expect(natsUnit).toContain(`ExecStart=/usr/sbin/nats-server -c ${configuration}\n`);
    expect(natsUnit).toContain(`chown -R svc-nats: ${defaults.filesAt}/nats\n`);
    expect(`/var/lib/${/^StateDirectory=(.*)$/m.exec(natsUnit)![1]}`).toBe(defaults.storeAt);
    expect(clusterUnit).toContain(`EnvironmentFile=${defaults.filesAt}/${HOST_FILES.environment}\n`);
    expect(clusterCompose).toContain(`["-c", "${configuration}"]`);
    expect(clusterCompose).toContain(`env_file: ["${defaults.filesAt}/${HOST_FILES.environment}"]`);
    expect(clusterCompose.match(/"\/etc\/svc\/cluster:(\S+):ro"/g)?.length).toBe(2);
    expect(clusterCompose).toContain(`"log:${defaults.storeAt}"`);
  });

  test('leave time to hand tenants over, and then as much as without a cluster', () => {
    const alone = Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)![1]);
    const least = DRAIN_MS_DEFAULT / 1_000 + alone;
    expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(clusterUnit)![1])).toBe(least);
    expect(clusterCompose).toContain(`stop_grace_period: ${least}s`);
  });

  test('give a container the same rights as without a cluster', () => {
    const rights = (text: string) => text.match(/^ {4}(?:cap_|security_)\w+: .*$/gm);
    expect(rights(clusterCompose)).toEqual(rights(compose));
    expect(existsSync(join(root, 'deploy/cluster', /context: (\S+)/.exec(clusterCompose)![1]!, 'package.json'))).toBe(
      true,
    );
  });
});
