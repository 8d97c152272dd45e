import { render } from "preact";
import { follow } from "./feed";
import { learnMe } from "./me";
import { Now } from "./now";

const root = document.getElementById("page");
if (root) {
  root.replaceChildren();
  render(<Now />, root);
  follow();
  void learnMe();
}
