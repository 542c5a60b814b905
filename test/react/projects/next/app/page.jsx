import {Messages} from './messages';

export default function Page() {
  return (
    <main>
      <h1>Rendered on the server</h1>
      <Messages />
    </main>
  );
}
