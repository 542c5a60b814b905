/**
 * Flags for every Node process that can run tenants' code. V8's flags decide where it writes files and whether
 * WebAssembly checks its bounds, and `v8.setFlagsFromString` changes them in a running process. With this flag, V8
 * keeps them in read-only memory, and a change ends the process.
 */
export const FROZEN_FLAGS: readonly string[] = ['--freeze-flags-after-init'];

/** Node starts from a snapshot of its heap unless this flag is set; then it takes 40 ms longer to start. */
const WITHOUT_SNAPSHOT = '--no-node-snapshot';

/**
 * The flags of processes with isolated-vm, which needs the second. Never add `--max-old-space-size`: isolated-vm resets
 * that flag when it is loaded, which ends a process whose flags are frozen. Nor `--max-semi-space-size`: isolates get it,
 * too, beyond their memory limit (with 4, an isolate of 64 MiB has a heap of 76 instead of 67).
 */
export const ISOLATE_FLAGS: readonly string[] = [...FROZEN_FLAGS, WITHOUT_SNAPSHOT];

/**
 * The flags of workers that run no code of tenants. Node starts four helper threads for V8, each with memory of its own.
 * Such a worker has too little work for more than one, and can be one of hundreds.
 */
export const DOCUMENT_WORKER_FLAGS: readonly string[] = [...FROZEN_FLAGS, '--v8-pool-size=1'];

/** The second argument of a spare worker that expects a tenant with code. */
export const WARM_FUNCTIONS = 'functions';

/** Whether this process was started with the flag that isolated-vm needs. */
export function mayHoldIsolates(): boolean {
  return process.execArgv.includes(WITHOUT_SNAPSHOT);
}
