import {Component, type ReactNode} from 'react';
import {failureText} from './failure-text';

/** `useQuery` throws what a query failed with: this shows it, and lets the reader try again. */
export class ErrorBoundary extends Component<{children: ReactNode}, {error: Error | null}> {
  override state: {error: Error | null} = {error: null};

  static getDerivedStateFromError(error: Error) {
    return {error};
  }

  override render() {
    const {error} = this.state;
    if (error === null) return this.props.children;
    return (
      <main className="notice" role="alert">
        <h1>That did not work</h1>
        <p>{failureText(error)}</p>
        <button type="button" className="button" onClick={() => this.setState({error: null})}>
          Try again
        </button>
      </main>
    );
  }
}
