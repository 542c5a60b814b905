/**
 * The same job for wrk, which takes less processor time a request than a Node process and so leaves more of a small machine
 * to the servers. It reads the requests from a file through a Lua script and reports through the script's `done`.
 */
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import type {LoadJob, LoadResult} from './job.ts';

const SCRIPT = `
local requests = {}
local at = 0

function init(args)
  local file = assert(io.open(args[1], 'rb'))
  while true do
    local length = file:read('*n')
    if not length then break end
    file:read(1)
    requests[#requests + 1] = file:read(length)
  end
  file:close()
end

function request()
  at = at % #requests + 1
  return requests[at]
end

function done(summary, latency)
  local e = summary.errors
  io.write(string.format(
    'RESULT {"requestsPerS": %f, "p50Ms": %f, "p99Ms": %f, "errors": %d}\\n',
    (summary.requests - e.status) / (summary.duration / 1e6),
    latency:percentile(50) / 1000, latency:percentile(99) / 1000,
    e.connect + e.read + e.write + e.status + e.timeout))
end
`;

export type WrkFiles = {args: string[]; remove(): void};

/** The files of one job, and the command line that runs it. */
export function wrkFiles(job: LoadJob): WrkFiles {
  const directory = mkdtempSync(join(tmpdir(), 'svc-bench-wrk-'));
  const script = join(directory, 'job.lua');
  const requests = join(directory, 'requests');
  writeFileSync(script, SCRIPT);
  writeFileSync(requests, job.requests.map(text => `${text.length}\n${text}\n`).join(''), 'latin1');
  const url = `http://127.0.0.1:${job.port}`;
  const sizes = ['-t', '1', '-c', String(job.connections), '-d', `${job.seconds}s`];
  return {
    args: [...sizes, '-s', script, url, '--', requests],
    remove: () => rmSync(directory, {recursive: true}),
  };
}

/** @throws when the output has no result: wrk failed */
export function wrkResult(output: string): LoadResult {
  const line = output.split('\n').find(each => each.startsWith('RESULT '));
  if (line === undefined) throw new Error(`wrk reported no result:\n${output}`);
  return JSON.parse(line.slice('RESULT '.length)) as LoadResult;
}
