/** The commands, in docs/cli.md and in the shells' completion. */
import {spawnSync} from 'node:child_process';
import {readFileSync} from 'node:fs';
import {describe, expect, test} from 'vitest';
import {completionScript} from '../../cli/completion.ts';
import {wholeProgram} from '../../cli/program.ts';

const program = await wholeProgram();

test('docs/cli.md has a heading for every command, and a line for each below it', () => {
  const page = readFileSync('docs/cli.md', 'utf8');
  const headings = Array.from(page.matchAll(/^## svc (.+)$/gm), match => match[1]!.split(/, | and (?:svc )?/)).flat();
  const names = program.commands.map(command => command.name());
  expect(headings.toSorted()).toEqual(names.toSorted());
  for (const command of program.commands) {
    for (const below of command.commands) expect(page).toContain(`svc ${command.name()} ${below.name()}`);
  }
});

describe('completion', () => {
  test('offers commands, those below them, and options, in bash', () => {
    const complete = (...words: string[]) => {
      const script = `${completionScript('bash', program)}
COMP_WORDS=(${words.map(word => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}
_svc; printf '%s\\n' "\${COMPREPLY[@]}"`;
      const {stdout, stderr} = spawnSync('bash', ['-c', script], {encoding: 'utf8'});
      expect(stderr).toBe('');
      return stdout.trim().split('\n');
    };
    expect(complete('svc', 'te')).toEqual(['tenants']);
    expect(complete('svc', 'key', 'r')).toEqual(['rotate', 'revoke']);
    expect(complete('svc', 'key', 'create', 'name', '--ex')).toEqual(['--expires']);
  });

  test('quotes descriptions for fish', () => {
    const lines = completionScript('fish', program).trim().split('\n');
    expect(lines).toContainEqual(
      expect.stringMatching(/^complete -c svc -n '__fish_use_subcommand' -f -a tenants -d '/),
    );
    for (const line of lines) expect(line.replaceAll(/\\./g, '').match(/'/g)?.length).toBe(4);
  });
});
