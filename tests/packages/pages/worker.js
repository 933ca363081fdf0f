import { answers } from "./answers.js";

postMessage(await answers().catch((error) => String(error)));
