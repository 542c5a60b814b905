/** What a server without a backup shows: the commands that make one. */
import {Empty} from '../../parts/states.tsx';

export function NoBackup() {
  return (
    <Empty title="This server makes no backups" icon="backups">
      <p>Make a repository and its key, on another disk or in a bucket:</p>
      <pre>
        <code>svc backup init --to s3://bucket/path --key backup.key</code>
      </pre>
      <p>Then start the server with it. Every commit is in the repository about a second later.</p>
      <pre>
        <code>svc start --backup-to s3://bucket/path --backup-key backup.key</code>
      </pre>
      <p>Keep a copy of the key in another place: nothing can be restored without it.</p>
    </Empty>
  );
}
