import {Component, type ReactNode} from 'react';

/** useQuery throws what a query failed with: without this the page would be empty. */
export class ErrorBoundary extends Component<{children: ReactNode}, {error: Error | null}> {
  override state: {error: Error | null} = {error: null};

  static getDerivedStateFromError(error: Error) {
    return {error};
  }

  override render() {
    const {error} = this.state;
    if (error === null) return this.props.children;
    return (
      <main>
        <pre role="alert">{String(error)}</pre>
        <button type="button" onClick={() => this.setState({error: null})}>
          Try again
        </button>
      </main>
    );
  }
}
