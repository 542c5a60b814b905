/** A page that throws, or whose code cannot be loaded, is replaced by what went wrong. The frame around it stays. */
import {Component, type ReactNode} from 'react';
import {Failed} from '../parts/states.tsx';

type State = {error: unknown; hasFailed: boolean};

export class ErrorBoundary extends Component<{children: ReactNode}, State> {
  override state: State = {error: null, hasFailed: false};

  static getDerivedStateFromError(error: unknown): State {
    return {error, hasFailed: true};
  }

  override render() {
    const {error, hasFailed} = this.state;
    // A new build has chunks of other names: only the whole page can load them.
    return hasFailed ? <Failed error={error} retry={() => location.reload()} /> : this.props.children;
  }
}
