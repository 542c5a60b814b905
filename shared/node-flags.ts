/**
 * Flags for every Node process that can run code of tenants. V8's flags decide where it writes files and whether WebAssembly checks its
 * bounds, and `v8.setFlagsFromString` changes them in a process that runs: here V8 keeps them in read-only memory, and a change ends the process.
 */
export const FROZEN_FLAGS: readonly string[] = ['--freeze-flags-after-init'];

/** Node starts from a snapshot of its heap unless this flag is set; then it takes 40 ms longer to start. */
const WITHOUT_SNAPSHOT = '--no-node-snapshot';

/**
 * With isolated-vm, which needs the second. Never `--max-old-space-size` in addition: isolated-vm resets that flag when it is loaded, which
 * ends a process whose flags are frozen.
 */
export const ISOLATE_FLAGS: readonly string[] = [...FROZEN_FLAGS, WITHOUT_SNAPSHOT];

/** This process was started with the flag that isolated-vm needs. */
export function mayHoldIsolates(): boolean {
  return process.execArgv.includes(WITHOUT_SNAPSHOT);
}
