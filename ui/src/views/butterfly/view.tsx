// A function between its callers and its callees.

import { useMemo, useState } from 'preact/hooks';
import { causeTable } from '../../model/report';
import type { State } from '../../model/state';
import { shown } from '../../model/text';
import { measured, percent } from '../../model/units';
import { Empty, Failed, Waiting } from '../../shell/empty';
import { useAnswer, usePage } from '../../shell/page';
import { listed } from '../functions/layout';
import { TreeTable } from '../tree/table';
import { focusOf, lonely, valuesOf } from './layout';

export function ButterflyView({ state }: { state: State }) {
  const { engine, store } = usePage();
  const reply = useAnswer(engine, 'functions', { filter: state.filter });
  if (reply.error !== null) return <Failed state={state} message={reply.error} />;
  if (reply.value === null) return <Waiting />;
  const { filtered, names, columns } = reply.value;
  if (filtered.empty !== null) return <Empty state={state} reason={filtered.empty} />;
  const focus = focusOf(state.focus, columns, names);
  if (focus === null) return <Empty state={state} reason="The recording has no functions." />;
  const values = valuesOf(focus, columns, names);
  if (values === null) return <Empty state={state} reason={`Nothing of \`${shown(focus, 120)}\` is left by the filter.`} />;
  const top = listed(columns, false).slice(0, 200).map((row) => names[columns.name[row] ?? 0] ?? '');
  const choices = top.includes(focus) ? top : [focus, ...top];
  return (
    <section class="view" aria-busy={reply.pending}>
      <div class="toolbar">
        <label class="grow">
          function{' '}
          <select value={focus} onChange={(event) => store.set({ focus: event.currentTarget.value })}>
            {choices.map((name) => (
              <option key={name} value={name}>
                {shown(name, 90)}
              </option>
            ))}
          </select>
        </label>
        <span>
          own {measured(values.own, filtered.unit)} ({percent(values.own / filtered.total)}), total{' '}
          {measured(values.total, filtered.unit)} ({percent(values.total / filtered.total)})
        </span>
      </div>
      <p class="soft heading">{filtered.heading}</p>
      <div class="wings">
        <Side key={`callers ${focus}`} state={state} ask="callers" focus={focus} title="Callers" none="It has no callers." />
        <Side key={`callees ${focus}`} state={state} ask="callees" focus={focus} title="Callees" none="It calls nothing that was seen." />
      </div>
    </section>
  );
}

interface SideProps {
  readonly state: State;
  readonly ask: 'callers' | 'callees';
  readonly focus: string;
  readonly title: string;
  readonly none: string;
}

function Side({ state, ask, focus, title, none }: SideProps) {
  const { engine, recording } = usePage();
  const reply = useAnswer(engine, ask, { filter: state.filter, name: focus });
  const causes = useMemo(() => causeTable(recording.facts.causes), [recording]);
  const [open, setOpen] = useState<readonly string[]>([]);
  return (
    <section class="wing" aria-label={title}>
      <h2>{title}</h2>
      {reply.error !== null && <p role="alert">{reply.error}</p>}
      {reply.value === null && reply.error === null && <Waiting />}
      {reply.value !== null && lonely(reply.value.columns) && <p class="soft">{none}</p>}
      {reply.value !== null && !lonely(reply.value.columns) && (
        <TreeTable
          label={title}
          tree={reply.value.columns}
          basis={{ names: reply.value.names, unit: reply.value.filtered.unit, total: reply.value.filtered.total, causes }}
          open={open}
          onOpen={setOpen}
          hits={null}
          openTo={1}
        />
      )}
    </section>
  );
}
