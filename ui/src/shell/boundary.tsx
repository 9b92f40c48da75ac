// A defect of one view is shown in its place, with a way on. The other views stay usable.

import { Component, type ComponentChildren } from 'preact';

interface Props {
  readonly children: ComponentChildren;
  /** A change of this tries again. */
  readonly view: string;
}

interface State {
  readonly failed: string | null;
  readonly view: string;
}

export class Boundary extends Component<Props, State> {
  override state: State = { failed: null, view: this.props.view };

  static override getDerivedStateFromProps(props: Props, state: State): Partial<State> | null {
    return props.view === state.view ? null : { failed: null, view: props.view };
  }

  override componentDidCatch(error: unknown): void {
    this.setState({ failed: error instanceof Error ? error.message : String(error) });
  }

  override render() {
    const { failed } = this.state;
    if (failed === null) return this.props.children;
    return (
      <section class="empty" role="alert">
        <h2>This view failed</h2>
        <p>{failed}</p>
        <p>Other views still work. Please report this message with the steps that led here.</p>
        <button type="button" onClick={() => this.setState({ failed: null })}>
          Try again
        </button>
      </section>
    );
  }
}
