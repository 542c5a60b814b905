import {StrictMode} from 'react';
import {createRoot} from 'react-dom/client';
import {SvcProviderWithAuth, SvcReactClient} from 'svc/react';
import {ErrorBoundary} from '../../kit/error-boundary';
import {ThemeProvider} from '../../kit/theme';
import {App} from './app';
import {SessionProvider, useAuth} from './session';

const client = new SvcReactClient(SVC_DEPLOYMENT);

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <ThemeProvider>
      <ErrorBoundary>
        <SessionProvider>
          <SvcProviderWithAuth client={client} useAuth={useAuth}>
            <App />
          </SvcProviderWithAuth>
        </SessionProvider>
      </ErrorBoundary>
    </ThemeProvider>
  </StrictMode>,
);
