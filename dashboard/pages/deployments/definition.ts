/** Where a function of a deployment is defined: the file of its module, and the line in its text. */
import type {AnswerOf} from '../../../shared/operation-types.ts';

export type DeploymentFile = AnswerOf<'deployments.files'>['files'][number];

/** @param path of the function, such as `a/b:f`. @returns the source of its module, or else its file in the bundle */
export function fileOfFunction(files: readonly DeploymentFile[], path: string): DeploymentFile | undefined {
  const [module = ''] = path.split(':');
  const isModule = (file: DeploymentFile) =>
    [module, `svc/${module}`].includes(file.path.replace(/\.[cm]?[jt]sx?$/, '')) || file.path.endsWith(`/${module}.ts`);
  return files.find(file => file.kind === 'source' && isModule(file)) ?? files.find(isModule);
}

/** @returns the number of the line that exports it, counted from 1; 1 if it is not found */
export function lineOfFunction(text: string, path: string): number {
  const name = path.split(':')[1] ?? 'default';
  const exported = name === 'default' ? /^\s*export\s+default\b/ : new RegExp(`^\\s*export\\s[^;]*\\b${name}\\b`);
  const plain = new RegExp(`^\\s*(?:var|let|const|function)\\s+${name}\\b`);
  const lines = text.split('\n');
  const found = [exported, plain].map(pattern => lines.findIndex(line => pattern.test(line))).find(line => line !== -1);
  return (found ?? 0) + 1;
}
