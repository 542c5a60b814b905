/** `svc completion` prints a script for a shell, generated from the commands and options themselves. */
import {Argument, type Command} from 'commander';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

/** The words that can follow: `key create` → its options. */
type Level = {path: string[]; words: {text: string; description: string}[]};

/** @param withAllVerbs loads the complete program: this one contains only the given verb */
export function register(program: Command, withAllVerbs: () => Promise<Command>): void {
  program
    .command('completion')
    .description('print a script that completes commands and options in a shell')
    .addArgument(new Argument('<shell>').choices([...SHELLS]))
    .action(async (shell: Shell) => {
      process.stdout.write(completionScript(shell, await withAllVerbs()));
    });
}

export function completionScript(shell: Shell, program: Command): string {
  const levels = levelsOf(program, []);
  if (shell === 'fish') return `${levels.flatMap(fishLines).join('\n')}\n`;
  const prelude = shell === 'zsh' ? 'autoload -U +X bashcompinit && bashcompinit\n' : '';
  const cases = levels.map(
    ({path, words}) => `    '${path.join(' ')}') words='${words.map(({text}) => text).join(' ')}' ;;`,
  );
  return `${prelude}_svc_words() {
  local words=''
  case "$1" in
${cases.join('\n')}
  esac
  printf '%s' "$words"
}
_svc() {
  local path='' word words
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [ -n "$(_svc_words "\${path:+$path }$word")" ] || continue
    path="\${path:+$path }$word"
  done
  words="$(_svc_words "$path")"
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _svc svc
`;
}

function levelsOf(command: Command, path: string[]): Level[] {
  const below = command.commands.map(child => ({text: child.name(), description: child.description()}));
  const options = command.createHelp().visibleOptions(command);
  const flags = options.flatMap(({long, description}) => (long ? [{text: long, description}] : []));
  const children = command.commands.flatMap(child => levelsOf(child, [...path, child.name()]));
  return [{path, words: [...below, ...flags]}, ...children];
}

function fishLines({path, words}: Level): string[] {
  const condition =
    path.length === 0
      ? '__fish_use_subcommand'
      : path.map(word => `__fish_seen_subcommand_from ${word}`).join('; and ');
  return words.map(({text, description}) => {
    const flag = text.startsWith('--') ? `-l ${text.slice(2)}` : `-f -a ${text}`;
    return `complete -c svc -n '${condition}' ${flag} -d '${description.replace(/['\\]/g, '\\$&')}'`;
  });
}
