/** Warnings about a server that say what to do; from its status and a few counters. */
import type {ServerStatus, ServerWarning} from '../../shared/protocol/server.ts';
import {
  DISK_FREE_PROBLEM_BYTES,
  DISK_FREE_WARNING_BYTES,
  MEMORY_AVAILABLE_WARNING_SHARE,
  ROUTER_DELAY_WARNING_MS,
} from '../limits.ts';
import {KILL_REASONS, type KillReason} from '../processes/child.ts';

export type Counts = {
  /** The disk refused the last change of the registry. */
  isUnwritable: boolean;
  /** Reads that found damaged data. */
  damage: number;
  /** Processes that the supervisor ended, by reason. */
  kills: Readonly<Record<KillReason, number>>;
};
type Shown = Pick<ServerStatus, 'disk' | 'host' | 'routers' | 'sandbox_layers' | 'settings' | 'tenants'>;

const MIB = 2 ** 20;
const [HUNG, TOO_MUCH_MEMORY, PROTOCOL_VIOLATION] = KILL_REASONS;
const KILLS: Readonly<Record<KillReason, {what: string; toDo: string}>> = {
  [HUNG]: {
    what: 'did not respond',
    toDo: 'The log names them. If they are workers, look for functions that never end.',
  },
  [TOO_MUCH_MEMORY]: {
    what: 'used too much memory',
    toDo: 'The log names them. Look for functions that collect many documents at once.',
  },
  [PROTOCOL_VIOLATION]: {
    what: 'violated the protocol',
    toDo: 'The log names their tenants. Code may have left its isolate: look at what these tenants deployed.',
  },
};

/** Problems first. */
export function warningsOf(status: Shown, counts: Counts): ServerWarning[] {
  const warnings = [...diskWarnings(status, counts), ...loadWarnings(status), ...tenantWarnings(status, counts)];
  for (const {is_required, missing, name, effect, to_do} of status.sandbox_layers) {
    if (!is_required || missing === null) continue;
    warnings.push(warning(`The sandbox layer ${name} is missing: ${missing}. With it, ${effect}.`, to_do!));
  }
  return warnings.sort((a, b) => Number(b.level === 'problem') - Number(a.level === 'problem'));
}

function diskWarnings({disk}: Shown, {isUnwritable}: Counts): ServerWarning[] {
  const warnings: ServerWarning[] = [];
  if (isUnwritable) {
    warnings.push(
      problem(
        'The disk refused the last change of the list of tenants, so changes of it are refused.',
        'Check that the data directory is not mounted read-only. svc tries again by itself.',
      ),
    );
  }
  const free = disk.free_bytes;
  if (free === null || free >= DISK_FREE_WARNING_BYTES) return warnings;
  const text = `The disk of the data directory has ${Math.floor(free / MIB)} MiB left.`;
  const [largest] = disk.tenants;
  const toDo = `Make space, or move the data directory to a larger disk.${largest === undefined ? '' : ` The largest tenant is ${largest.id}.`}`;
  warnings.push(free < DISK_FREE_PROBLEM_BYTES ? problem(`${text} Writes will get 507.`, toDo) : warning(text, toDo));
  return warnings;
}

function loadWarnings({host, routers, settings}: Shown): ServerWarning[] {
  const warnings: ServerWarning[] = [];
  if (host.memory_available_bytes < host.memory_bytes * MEMORY_AVAILABLE_WARNING_SHARE) {
    warnings.push(
      warning(
        `Of ${Math.floor(host.memory_bytes / MIB)} MiB of memory, ${Math.floor(host.memory_available_bytes / MIB)} MiB are available.`,
        `Lower --max-awake (${settings.max_awake}) or --idle-stop, so that fewer tenants are awake, or add memory.`,
      ),
    );
  }
  for (const {router, is_answering, event_loop_delay_ms: delay} of routers) {
    if (!is_answering) {
      warnings.push(
        problem(
          `Router ${router} does not report.`,
          'If this lasts, read the log: it says whether the router restarts.',
        ),
      );
    } else if (delay >= ROUTER_DELAY_WARNING_MS) {
      const more = host.cores > routers.length ? 'Start more routers (--routers), or use' : 'Use';
      warnings.push(
        warning(
          `Router ${router} kept requests waiting for ${Math.round(delay)} ms.`,
          `${more} a machine with more cores, if this happens often.`,
        ),
      );
    }
  }
  return warnings;
}

function tenantWarnings({tenants: {states}}: Shown, {damage, kills}: Counts): ServerWarning[] {
  const warnings: ServerWarning[] = [];
  if ((states.damaged ?? 0) > 0) {
    warnings.push(
      problem(
        `${count(states.damaged!, 'tenant')} cannot be opened, because the file is damaged.`,
        'svc tenants status --state damaged names them. Restore them from a backup.',
      ),
    );
  }
  if (damage > 0) {
    warnings.push(
      problem(
        `${count(damage, 'read')} found damaged data: the disk or the memory of this machine fails.`,
        'Run svc verify, and restore the tenants that it names.',
      ),
    );
  }
  if ((states.cool_down ?? 0) > 0) {
    warnings.push(
      warning(
        `${count(states.cool_down!, 'tenant')} crashed repeatedly and will be started again later.`,
        'svc tenants status --state cool_down names them. The log says which calls they were running.',
      ),
    );
  }
  for (const [reason, {what, toDo}] of Object.entries(KILLS) as [KillReason, (typeof KILLS)[KillReason]][]) {
    const killed = kills[reason];
    if (killed > 0) {
      const text = `${count(killed, 'process', 'processes')} ${what}, and svc ended ${killed === 1 ? 'it' : 'them'}.`;
      warnings.push(warning(text, toDo));
    }
  }
  return warnings;
}

function count(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`;
}

function problem(text: string, toDo: string): ServerWarning {
  return {level: 'problem', text, to_do: toDo};
}

function warning(text: string, toDo: string): ServerWarning {
  return {level: 'warning', text, to_do: toDo};
}
