// Mounts the charts of a page on their figures. A browser's own dark mode, the window's width and the printer are followed.
"use strict";
(function () {
    var doc = JSON.parse(document.getElementById("document").textContent);
    var dark = matchMedia("(prefers-color-scheme: dark)");
    var mounted = [];

    function draw(mount) {
        var made = rb_charts.make(mount.name, doc, rb_charts.look(dark.matches), mount.place.clientWidth);
        mount.place.style.height = made.height + "px";
        mount.chart.resize();
        made.option.animation = false;
        mount.chart.setOption(made.option, true);
    }

    document.querySelectorAll("figure[data-chart]").forEach(function (figure) {
        var place = document.createElement("div");
        figure.insertBefore(place, figure.firstChild);
        var made = {name: figure.dataset.chart, place: place};
        place.style.height = "300px";
        made.chart = echarts.init(place, null, {renderer: "svg"});
        mounted.push(made);
        draw(made);
    });
    dark.addEventListener("change", function () { mounted.forEach(draw); });
    addEventListener("resize", function () { mounted.forEach(draw); });
}());
