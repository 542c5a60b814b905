/**
 * What is wrong with a project, all of it at once: each problem with the file and line that it is about, as editors and
 * terminals make links of it (`svc/messages.ts:3:12: …`).
 */
import {CommandFailure} from '../failure.ts';

export type Problem = {
  message: string;
  /** Relative to the project, `svc/messages.ts`. */
  file?: string | null;
  /** From 1; where it is known. */
  line?: number | null;
  /** From 1; where it is known. */
  column?: number | null;
};

export class ProjectFailure extends CommandFailure {
  override name = 'ProjectFailure';
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(listed(problems));
    this.problems = problems;
  }
}

/** A problem of the project as a whole. */
export function projectFailure(message: string, file?: string): ProjectFailure {
  return new ProjectFailure([{message, file: file ?? null}]);
}

export function described({message, file, line, column}: Problem): string {
  const place = [file, line, column].filter(part => part !== null && part !== undefined);
  return place.length === 0 ? message : `${place.join(':')}: ${message}`;
}

function listed(problems: readonly Problem[]): string {
  const lines = problems.map(described);
  return lines.length === 1 ? lines[0]! : [`${lines.length} errors`, ...lines].join('\n');
}
