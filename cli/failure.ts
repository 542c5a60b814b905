/**
 * The failure of a command that talks to a server: one clear sentence on stderr and an exit code, never a stack trace.
 * Any other exception is a bug and ends the process as such.
 */

/** The command failed. The message is the sentence that the user reads. */
export class CommandFailure extends Error {
  override name = 'CommandFailure';
  readonly exitCode: number;

  constructor(message: string, exitCode = 1, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

/** After Ctrl-C, as shells count it: 128 + SIGINT. */
export const EXIT_INTERRUPTED = 130;

export async function reportFailure(verb: string, run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (caught) {
    if (!(caught instanceof CommandFailure)) throw caught;
    process.stderr.write(`${verb}: ${caught.message}\n`);
    process.exitCode = caught.exitCode;
  }
}
