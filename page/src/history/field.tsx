// A control below its label.
import type { ComponentChildren } from "preact";

export function Field({ id, label, children }: { id: string; label: string; children: ComponentChildren }) {
  return <p class="field"><label for={id}>{label}</label>{children}</p>;
}
