// How blocks of code are shown.
import { setProperty } from "@expressive-code/core/hast";

/** Names each block: a block that scrolls is a region of the page, and regions need names of their own. */
const names = {
  name: "names of blocks",
  hooks: {
    postprocessRenderedBlock({ codeBlock, renderData }) {
      const place = codeBlock.parentDocument?.positionInDocument?.groupIndex ?? 0;
      const pre = find(renderData.blockAst);
      if (!pre) return;
      setProperty(pre, "aria-label", `${codeBlock.language} ${place + 1}`);
      // The script of the blocks does this late, when the browser is idle.
      if (!codeBlock.props.wrap) {
        setProperty(pre, "tabindex", "0");
        setProperty(pre, "role", "region");
      }
    },
  },
};

const find = (node) => (node.tagName === "pre" ? node : node.children?.map(find).find(Boolean));

export default {
  // Tables of delays keep their columns and scroll; programs are wrapped.
  defaultProps: { overridesByLang: { "js,python,rust,c,json,sh": { wrap: true } } },
  plugins: [names],
};
