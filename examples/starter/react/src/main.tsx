import {StrictMode} from 'react';
import {createRoot} from 'react-dom/client';
import {SvcProvider, SvcReactClient} from 'svc/react';
import {App} from './App';
import {ErrorBoundary} from './ErrorBoundary';
import './style.css';

// svc dev sets it for what it starts; for a build, set it to where the deployment will be: https://example.com/svc/TENANT
const client = new SvcReactClient(import.meta.env.VITE_SVC_URL);

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <SvcProvider client={client}>
      <ErrorBoundary>
        <App />
      </ErrorBoundary>
    </SvcProvider>
  </StrictMode>,
);
