/**
 * Adds lists of delays and backoffs of several stages to `holdoff`, and what `holdoff/powers` adds. Import it once, anywhere: `import "holdoff/stages"`.
 */
import "../powers/index.js";
import { readStages } from "../stages.js";

readStages();
