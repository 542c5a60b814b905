import {StrictMode} from 'react';
import {createRoot} from 'react-dom/client';
import {SvcProvider, SvcReactClient, useMutation, usePaginatedQuery, useQuery} from 'svc/react';
import {api} from '../svc/_generated/api';

const client = new SvcReactClient('http://127.0.0.1:3210/svc/app');

function Messages() {
  const count = useQuery(api.messages.count);
  const {results} = usePaginatedQuery(api.messages.list, {}, {initialNumItems: 5});
  const send = useMutation(api.messages.send);
  return (
    <button type="button" onClick={() => send({body: 'hello'})}>{`${count ?? 'loading'} ${results.length}`}</button>
  );
}

createRoot(document.getElementById('root')).render(
  <StrictMode>
    <SvcProvider client={client}>
      <Messages />
    </SvcProvider>
  </StrictMode>,
);
