import { DESCRIPTION } from "../about.mjs";
import { full } from "../llms.mjs";

export const GET = ({ site }) => new Response(full(site, DESCRIPTION));
