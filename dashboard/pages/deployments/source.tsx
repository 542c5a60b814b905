/** The source of a deployment: its files, and the text of the chosen one, at a line or at a function's definition. */
import {useOperation} from '../../api/queries.ts';
import {useUrlState} from '../../parts/page.tsx';
import {Empty, Loaded, Note} from '../../parts/states.tsx';
import {type DeploymentFile, fileOfFunction, lineOfFunction} from './definition.ts';
import css from './deployments.module.css';
import {FileTree} from './file-tree.tsx';
import {SourceText} from './source-text.tsx';

export function Source({tenant, id}: {tenant: string; id: string}) {
  const list = useOperation('deployments.files', {tenant, params: {deployment_id: id}});
  return <Loaded query={list}>{({files}) => <Files tenant={tenant} id={id} files={files} />}</Loaded>;
}

type FilesProps = {tenant: string; id: string; files: readonly DeploymentFile[]};

function Files({tenant, id, files}: FilesProps) {
  const [path, setPath] = useUrlState('file');
  const [named] = useUrlState('function');
  const ofName = named === '' ? undefined : fileOfFunction(files, named);
  const chosen =
    (path === '' ? ofName : files.find(file => addressOf(file) === path)) ??
    files.find(file => !/(^|\/)_/.test(file.path)) ??
    files[0];
  return (
    <>
      {files.some(({kind}) => kind === 'source') ? null : (
        <Note>This upload came without sources, so you see the bundle. svc deploy sends sources of up to 8 MiB.</Note>
      )}
      <div className={css.columns}>
        <FileTree files={files} chosen={chosen} onChoose={file => setPath(addressOf(file))} />
        {chosen === undefined ? (
          <Empty title="No files" />
        ) : (
          <File key={addressOf(chosen)} tenant={tenant} id={id} file={chosen} named={chosen === ofName ? named : ''} />
        )}
      </div>
    </>
  );
}

/** A source and a file of the bundle can have the same path. */
function addressOf({kind, path}: DeploymentFile): string {
  return kind === 'source' ? path : `bundle:${path}`;
}

/** @param named the function whose definition is in view; empty: none */
function File({tenant, id, file, named}: {tenant: string; id: string; file: DeploymentFile; named: string}) {
  const params = {deployment_id: id, file_path: file.path};
  const found = useOperation('deployments.file', {tenant, params, query: {kind: file.kind}});
  return (
    <div className={css.shown}>
      <h2>
        <code>{file.path}</code>
      </h2>
      <Loaded query={found}>
        {({text}) => <SourceText path={file.path} text={text} line={named === '' ? 0 : lineOfFunction(text, named)} />}
      </Loaded>
    </div>
  );
}
