import {StrictMode} from 'react';
import {createRoot} from 'react-dom/client';
import {SvcProvider, SvcReactClient} from 'svc/react';
import {ErrorBoundary} from '../../kit/error-boundary';
import {ThemeProvider} from '../../kit/theme';
import {App} from './app';
import {explanations} from './explanations';

const client = new SvcReactClient(SVC_DEPLOYMENT, {onExplain: explanations.add});

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <ThemeProvider>
      <ErrorBoundary>
        <SvcProvider client={client}>
          <App />
        </SvcProvider>
      </ErrorBoundary>
    </ThemeProvider>
  </StrictMode>,
);
