/** The files of a deployment as a tree: original sources, and the bundle that runs. */
import type {DeploymentFile} from './definition.ts';
import css from './deployments.module.css';

type Folder = {readonly folders: Map<string, Folder>; readonly files: DeploymentFile[]};
type TreeProps = {
  files: readonly DeploymentFile[];
  chosen: DeploymentFile | undefined;
  onChoose(file: DeploymentFile): void;
};

export function FileTree({files, chosen, onChoose}: TreeProps) {
  const sources = files.filter(({kind}) => kind === 'source');
  const bundle = files.filter(({kind}) => kind === 'bundle');
  return (
    <nav className={css.tree} aria-label="Files">
      {sources.length === 0 ? null : <Branch folder={treeOf(sources)} chosen={chosen} onChoose={onChoose} />}
      {bundle.length === 0 ? null : (
        <details open={sources.length === 0 || chosen?.kind === 'bundle'}>
          <summary>Bundle that runs</summary>
          <Branch folder={treeOf(bundle)} chosen={chosen} onChoose={onChoose} />
        </details>
      )}
    </nav>
  );
}

function treeOf(files: readonly DeploymentFile[]): Folder {
  const root: Folder = {folders: new Map(), files: []};
  for (const file of files) {
    let folder = root;
    for (const step of file.path.split('/').slice(0, -1)) {
      const next = folder.folders.get(step) ?? {folders: new Map(), files: []};
      folder.folders.set(step, next);
      folder = next;
    }
    folder.files.push(file);
  }
  return root;
}

function Branch({folder, ...rest}: Omit<TreeProps, 'files'> & {folder: Folder}) {
  return (
    <ul>
      {[...folder.folders].map(([name, inner]) => (
        <li key={name}>
          <details open={!name.startsWith('_')}>
            <summary>{name}</summary>
            <Branch folder={inner} {...rest} />
          </details>
        </li>
      ))}
      {folder.files.map(file => (
        <li key={file.path}>
          <button
            type="button"
            className={css.file}
            title={file.path}
            aria-current={file === rest.chosen}
            onClick={() => rest.onChoose(file)}
          >
            {file.path.split('/').at(-1)}
          </button>
        </li>
      ))}
    </ul>
  );
}
